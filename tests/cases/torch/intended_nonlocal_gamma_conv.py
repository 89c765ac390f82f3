# case: intended_nonlocal_gamma_conv expect: clean
# verdict: intended
import torch
from torch import nn


class ImageSelf(nn.Module):
    def __init__(self, in_dim):
        super().__init__()
        self.query_conv = nn.Conv2d(in_dim, in_dim // 8, kernel_size=1)
        self.key_conv = nn.Conv2d(in_dim, in_dim // 8, kernel_size=1)
        self.value_conv = nn.Conv2d(in_dim, in_dim, kernel_size=1)
        self.gamma = nn.Parameter(torch.zeros(1))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x):
        b, c, w, h = x.size()
        query = self.query_conv(x).view(b, -1, w * h).permute(0, 2, 1)
        key = self.key_conv(x).view(b, -1, w * h)
        attention = self.softmax(torch.bmm(query, key))
        value = self.value_conv(x).view(b, -1, w * h)
        out = torch.bmm(value, attention.permute(0, 2, 1)).view(b, c, w, h)
        return self.gamma * out + x
