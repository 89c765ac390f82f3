# case: unknown_attribute_set_by_subclass expect: clean
import torch


class ScoresMixin:
    def attention_scores(self, query, key, attention_mask=None):
        if attention_mask is None:
            start = torch.empty(query.shape[0], query.shape[1], key.shape[1], dtype=query.dtype)
            beta = 0
        else:
            start, beta = attention_mask, 1
        scores = torch.baddbmm(start, query, key.transpose(-1, -2), beta=beta, alpha=self.scale)
        return scores.softmax(dim=-1)
