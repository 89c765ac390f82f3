# case: other_language_model_head expect: clean
import torch
from torch import nn


class Speaker(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.body = nn.GRU(width, width, batch_first=True)

    def forward(self, tokens):
        states, _ = self.body(self.embed(tokens))
        logits = states @ self.embed.weight.T
        return torch.log_softmax(logits, dim=-1)

    @torch.no_grad()
    def next_token(self, tokens, temperature=1.0):
        logits = self.forward(tokens)[:, -1] / temperature
        return torch.multinomial(torch.softmax(logits, dim=-1), 1)
