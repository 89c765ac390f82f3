# case: clean_backend_batch_dot expect: clean
# proved: yes
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras.layers import Layer


class Backend(Layer):
    def __init__(self, output_dim, **kwargs):
        super().__init__(**kwargs)
        self.output_dim = output_dim

    def build(self, input_shape):
        shape = (3, input_shape[-1], self.output_dim)
        self.kernel = self.add_weight(name="kernel", shape=shape, initializer="uniform")

    def call(self, x):
        q, k, v = K.dot(x, self.kernel[0]), K.dot(x, self.kernel[1]), K.dot(x, self.kernel[2])
        qk = K.batch_dot(q, K.permute_dimensions(k, [0, 2, 1])) / K.sqrt(K.cast(self.output_dim, K.floatx()))
        return K.batch_dot(K.softmax(qk), v)
