# case: unstable_backend_exp expect: unstable-softmax line: 11 alt: 12
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Layer


class RawExp(Layer):
    def build(self, input_shape):
        self.context = self.add_weight(name="context", shape=(input_shape[-1], 1))

    def call(self, x):
        a = K.exp(K.squeeze(K.dot(x, self.context), axis=-1))
        a = a / K.expand_dims(K.sum(a, axis=-1), -1)
        return K.batch_dot(K.permute_dimensions(x, [0, 2, 1]), a)
