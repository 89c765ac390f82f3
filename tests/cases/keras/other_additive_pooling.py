# case: other_additive_pooling expect: clean
import keras
from keras import ops


class Pool(keras.layers.Layer):
    def build(self, input_shape):
        self.W = self.add_weight(shape=(input_shape[-1], input_shape[-1]), name="W")
        self.u = self.add_weight(shape=(input_shape[-1], 1), name="u")

    def call(self, x):
        e = ops.matmul(ops.tanh(ops.matmul(x, self.W)), self.u)
        a = ops.softmax(e, axis=1)
        return ops.sum(x * a, axis=1)
