# case: clean_library_layers expect: clean
import keras
from keras import layers


def encoder(x, heads, width):
    a = layers.MultiHeadAttention(num_heads=heads, key_dim=width)(x, x)
    x = layers.LayerNormalization()(x + a)
    return layers.Attention(use_scale=True)([x, x])


def model(tokens, width):
    inputs = keras.Input((tokens, width))
    return keras.Model(inputs, encoder(inputs, 4, width))
