# case: intended_soft_dot_one_step expect: clean
# verdict: intended
import torch
import torch.nn as nn


class SoftDot(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear_in = nn.Linear(dim, dim, bias=False)
        self.sm = nn.Softmax(dim=1)
        self.linear_out = nn.Linear(dim * 2, dim, bias=False)

    def forward(self, state, context, mask=None):
        target = self.linear_in(state).unsqueeze(2)
        attn = torch.bmm(context, target).squeeze(2)
        if mask is not None:
            attn.masked_fill_(mask, -1e12)
        attn = self.sm(attn)
        weighted = torch.bmm(attn.unsqueeze(1), context).squeeze(1)
        return torch.tanh(self.linear_out(torch.cat((weighted, state), 1)))
