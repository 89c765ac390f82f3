# case: clean_autograd_function_is_applied expect: clean
# proved: yes
import torch
from torch import nn


class Weigh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, gain):
        weights = torch.softmax(query @ key.mT * gain, dim=-1)
        ctx.save_for_backward(weights, query, key)
        ctx.gain = gain
        return weights

    @staticmethod
    def backward(ctx, grad):
        weights, query, key = ctx.saved_tensors
        inner = weights * (grad - (weights * grad).sum(-1, keepdim=True)) * ctx.gain
        return inner @ key, inner.mT @ query, None


class Reader(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.size = size
        self.ask, self.tell, self.give = nn.Linear(inputs, size), nn.Linear(inputs, size), nn.Linear(inputs, size)

    def forward(self, x):
        return Weigh.apply(self.ask(x), self.tell(x), self.size**-0.5) @ self.give(x)
