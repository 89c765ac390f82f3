# case: other_graph_attention_layer expect: clean
import torch
import torch.nn.functional as F
from torch import nn


class GraphLayer(nn.Module):
    def __init__(self, fin, fout, alpha=0.2):
        super().__init__()
        self.W = nn.Parameter(torch.empty(fin, fout))
        self.a = nn.Parameter(torch.empty(2 * fout, 1))
        nn.init.xavier_uniform_(self.W)
        nn.init.xavier_uniform_(self.a)
        self.fout, self.leaky = fout, nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = h @ self.W
        left = Wh @ self.a[: self.fout]
        right = Wh @ self.a[self.fout :]
        e = self.leaky(left + right.T)
        e = torch.where(adj > 0, e, torch.full_like(e, -9e15))
        return F.elu(F.softmax(e, dim=1) @ Wh)
