// Prints whether the delivery on standard input is genuine: file, secret, now, names and values.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, secret, now, ...given] = process.argv.slice(2);
const { verify } = await import(pathToFileURL(file));
const headers = {};
for (let at = 0; at < given.length; at += 2) headers[given[at].toLowerCase()] = given[at + 1];
console.log(verify(secret, headers, readFileSync(0), Number(now)));
