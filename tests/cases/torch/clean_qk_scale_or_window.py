# case: clean_qk_scale_or_window expect: clean
# proved: yes
import torch
import torch.nn as nn


class TileAttention(nn.Module):
    def __init__(self, dim, tile, num_heads, packed_bias=True, qk_scale=None, attn_drop=0.0):
        super().__init__()
        self.dim, self.tile, self.num_heads = dim, tile, num_heads
        head_dim = dim // num_heads
        self.scale = qk_scale or head_dim**-0.5
        self.offset_table = nn.Parameter(torch.zeros((2 * tile - 1) ** 2, num_heads))
        steps = torch.stack(torch.meshgrid(torch.arange(tile), torch.arange(tile), indexing="ij")).flatten(1)
        gap = (steps[:, :, None] - steps[:, None, :]).permute(1, 2, 0) + tile - 1
        self.register_buffer("offset_index", gap[..., 0] * (2 * tile - 1) + gap[..., 1])
        self.packed = nn.Linear(dim, dim * 3, bias=packed_bias)
        self.attn_drop = nn.Dropout(attn_drop)
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, x, mask=None):
        tiles, n, c = x.shape
        packed = self.packed(x).reshape(tiles, n, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = packed[0], packed[1], packed[2]
        q = q * self.scale
        attn = q @ k.transpose(-2, -1)
        bias = self.offset_table[self.offset_index.view(-1)].view(n, n, -1).permute(2, 0, 1).contiguous()
        attn = attn + bias.unsqueeze(0)
        if mask is not None:
            floors = mask.shape[0]
            attn = attn.view(tiles // floors, floors, self.num_heads, n, n) + mask.unsqueeze(1).unsqueeze(0)
            attn = attn.view(-1, self.num_heads, n, n)
        attn = self.attn_drop(self.softmax(attn))
        return (attn @ v).transpose(1, 2).reshape(tiles, n, c)
