# case: missing_dot_objects expect: missing-scale line: 15 alt: 16
import keras
from keras import layers


class NoLambda(layers.Layer):
    def build(self, input_shape):
        width = input_shape[-1]
        self.dense_q, self.dense_k, self.dense_v = layers.Dense(width), layers.Dense(width), layers.Dense(width)
        self.compare = layers.Dot(axes=(2, 2))
        self.normalise = layers.Softmax()
        self.gather = layers.Dot(axes=(2, 1))

    def call(self, x):
        s = self.compare([self.dense_q(x), self.dense_k(x)])
        p = self.normalise(s)
        return self.gather([p, self.dense_v(x)])
