# case: clean_graph_edges_in_keys expect: clean
# proved: yes
import torch
from einops import rearrange
from torch import einsum, nn


class EdgeAware(nn.Module):
    def __init__(self, dim, edge_dim, dim_head=16, heads=4):
        super().__init__()
        self.heads, self.scale = heads, dim_head**-0.5
        inner = dim_head * heads
        self.to_q, self.to_kv, self.edges_to_kv = nn.Linear(dim, inner), nn.Linear(dim, inner * 2), nn.Linear(edge_dim, inner)

    def forward(self, nodes, edges):
        h = self.heads
        q = self.to_q(nodes)
        k, v = self.to_kv(nodes).chunk(2, dim=-1)
        e = self.edges_to_kv(edges)
        q, k, v, e = map(lambda t: rearrange(t, "b ... (h d) -> (b h) ... d", h=h), (q, k, v, e))
        k, v = map(lambda t: rearrange(t, "b j d -> b 1 j d"), (k, v))
        k, v = k + e, v + e
        sim = einsum("b i d, b i j d -> b i j", q, k) * self.scale
        out = einsum("b i j, b i j d -> b i d", sim.softmax(dim=-1), v)
        return rearrange(out, "(b h) n d -> b n (h d)", h=h)
