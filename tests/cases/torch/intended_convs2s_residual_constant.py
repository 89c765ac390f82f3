# case: intended_convs2s_residual_constant expect: clean
import torch
import torch.nn.functional as F
from torch import nn

HALF_ROOT = 0.5**0.5


class StepAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear_in = nn.Linear(width, width)

    def forward(self, target_embedding, decoder_state, encoder_top, encoder_sum):
        target = (target_embedding + self.linear_in(decoder_state)) * HALF_ROOT
        attn = F.softmax(torch.bmm(target, encoder_top), dim=2)
        return torch.bmm(attn, encoder_sum.transpose(1, 2)), attn
