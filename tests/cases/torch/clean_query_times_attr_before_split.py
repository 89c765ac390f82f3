# case: clean_query_times_attr_before_split expect: clean
# proved: yes
import torch
from torch import nn


class NoteTracker(nn.Module):
    def __init__(self, channels: int, voices: int):
        super().__init__()
        self.voices = voices
        self.voice_dim = channels // voices
        if self.voice_dim * voices != channels:
            raise ValueError(f"channels {channels} cannot be shared by {voices} voices")
        self.scaling = self.voice_dim**-0.5
        self.q_proj = nn.Linear(channels, channels)
        self.k_proj = nn.Linear(channels, channels)
        self.v_proj = nn.Linear(channels, channels)
        self.out_proj = nn.Linear(channels, channels)

    def _fold(self, tensor, length, batch):
        return tensor.view(batch, length, self.voices, self.voice_dim).transpose(1, 2).contiguous()

    def forward(self, notes):
        batch, length, channels = notes.size()
        query = self.q_proj(notes) * self.scaling
        key = self._fold(self.k_proj(notes), -1, batch)
        value = self._fold(self.v_proj(notes), -1, batch)
        flat = (batch * self.voices, -1, self.voice_dim)
        query = self._fold(query, length, batch).view(*flat)
        key = key.view(*flat)
        value = value.view(*flat)
        weights = nn.functional.softmax(torch.bmm(query, key.transpose(1, 2)), dim=-1)
        mixed = torch.bmm(weights, value).view(batch, self.voices, length, self.voice_dim)
        return self.out_proj(mixed.transpose(1, 2).reshape(batch, length, channels))
