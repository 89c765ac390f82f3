# case: wrongdim_vision_dim_default_arguments expect: wrong-dim-scale line: 15
import math

import torch
from torch import nn


class Grounding(nn.Module):
    def __init__(self, image_dim=256, text_dim=96, shared=64):
        super().__init__()
        self.image_dim = image_dim
        self.q, self.k, self.v = nn.Linear(text_dim, shared), nn.Linear(image_dim, shared), nn.Linear(image_dim, shared)

    def forward(self, text, image):
        s = torch.bmm(self.q(text), self.k(image).transpose(1, 2)) / math.sqrt(self.image_dim)
        return torch.bmm(torch.softmax(s, dim=-1), self.v(image))
