# case: other_retrieval_in_batch expect: clean
import torch
from torch import nn


class Retriever(nn.Module):
    """Scores every question against every passage of the batch; a cross entropy follows."""

    def __init__(self, dim, out):
        super().__init__()
        self.question, self.passage = nn.Linear(dim, out), nn.Linear(dim, out)

    def forward(self, questions, passages):
        scores = self.question(questions) @ self.passage(passages).t()
        log_prob = torch.log_softmax(scores, dim=1)
        loss = -log_prob.diagonal().mean()
        hits = (log_prob.argmax(dim=1) == torch.arange(len(questions))).sum()
        return loss, hits
