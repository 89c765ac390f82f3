# case: missing_single_head_tutorial expect: missing-scale line: 17 alt: 18
import torch
import torch.nn as nn


class FirstAttempt(nn.Module):
    def __init__(self, wide, narrow):
        super().__init__()
        self.ask = nn.Linear(wide, narrow, bias=False)
        self.hint = nn.Linear(wide, narrow, bias=False)
        self.fact = nn.Linear(wide, narrow, bias=False)

    def forward(self, x):
        keys = self.hint(x)
        queries = self.ask(x)
        values = self.fact(x)
        closeness = queries @ keys.transpose(-2, -1)
        shares = torch.softmax(closeness, dim=-1)
        return shares @ values
