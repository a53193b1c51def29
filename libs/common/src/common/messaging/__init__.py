"""RabbitMQ: the only package that imports aio_pika."""
