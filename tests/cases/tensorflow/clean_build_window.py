# case: clean_build_window expect: clean
# proved: yes
import tensorflow as tf
from tensorflow.keras import layers


class Tiles(layers.Layer):
    def __init__(self, num_heads, qk_scale=None, **kwargs):
        super().__init__(**kwargs)
        self.num_heads, self.qk_scale = num_heads, qk_scale

    def build(self, input_shape):
        self.channels = input_shape[-1]
        self.qkv = layers.Dense(self.channels * 3, name="qkv")
        self.scale = self.qk_scale or (self.channels // self.num_heads) ** -0.5
        super().build(input_shape)

    def call(self, inputs):
        length = tf.shape(inputs)[1]
        qkv = tf.reshape(self.qkv(inputs), [-1, length, 3, self.num_heads, self.channels // self.num_heads])
        q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]), 3)
        q *= self.scale
        attn = tf.nn.softmax(tf.matmul(q, k, transpose_b=True))
        return tf.reshape(tf.transpose(tf.matmul(attn, v), [0, 2, 1, 3]), [-1, length, self.channels])
