# case: missing_cross_attention_two_sources expect: missing-scale line: 15 alt: 16
import torch
import torch.nn as nn


class CaptionCross(nn.Module):
    def __init__(self, text_dim, image_dim, d):
        super().__init__()
        self.q = nn.Linear(text_dim, d)
        self.k = nn.Linear(image_dim, d)
        self.v = nn.Linear(image_dim, d)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, text, image):
        logits = torch.bmm(self.q(text), self.k(image).permute(0, 2, 1))
        return torch.bmm(self.softmax(logits), self.v(image))
