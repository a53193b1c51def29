# Prints whether the delivery on standard input is genuine: file, secret, now, names and values.
require ARGV.shift
secret, now, *headers = ARGV
puts Webhooks.verify(secret, Hash[*headers], $stdin.binmode.read, Time.at(now.to_i))
