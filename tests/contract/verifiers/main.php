<?php
// Prints whether the delivery on standard input is genuine: file, secret, now, names and values.
require $argv[1];
$headers = [];
for ($index = 4; $index < $argc; $index += 2) {
    $headers[$argv[$index]] = $argv[$index + 1];
}
echo verify($argv[2], $headers, file_get_contents('php://stdin'), (int) $argv[3]) ? 'true' : 'false';
