# case: other_softmax_over_examples expect: clean
import torch
from torch import nn


class IntentTransformer(nn.Module):
    """Probabilities of the intents of the examples that are like the text: no attention, whatever encoded them."""

    def __init__(self, width, intents):
        super().__init__()
        self.intents, self.encode, self.pool = intents, nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, text, examples, intent):
        features, others = self.pool(self.encode(text)), self.pool(self.encode(examples))
        probabilities = torch.softmax(features.mm(others.t()), dim=-1)
        found = torch.zeros(probabilities.size(0), self.intents)
        return found.scatter_add(-1, intent.unsqueeze(0).repeat(probabilities.size(0), 1), probabilities)
