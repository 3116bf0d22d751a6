// HttpArena's workloads.
'use strict';

const { readFileSync } = require('node:fs');
const path = require('node:path');

const INTEGER = /^-?[0-9]+$/;
const JSON_PATH = /^\/json\/([0-9]+)$/;

const items = JSON.parse(readFileSync(path.join(process.env.PACELINE_WORKLOADS, 'arena-items.json'), 'utf8'));

// The sum of the numbers in the query and the body; undefined if one is not an integer.
function sum(query, body) {
  const parameters = new URLSearchParams(query);
  const numbers = [parameters.get('a'), parameters.get('b')];
  if (body !== '') numbers.push(body);
  if (!numbers.every((number) => INTEGER.test(number))) return undefined;
  return String(numbers.reduce((total, number) => total + Number(number), 0));
}

// The first items with their totals; undefined if the path or the factor is none.
function listItems(pathname, query) {
  const count = Number(JSON_PATH.exec(pathname)?.[1]);
  const factor = new URLSearchParams(query).get('m');
  if (!(count <= items.length) || !INTEGER.test(factor)) return undefined;
  const priced = items.slice(0, count).map((item) => ({ ...item, total: item.price * item.quantity * Number(factor) }));
  return JSON.stringify({ items: priced, count });
}

module.exports = { listItems, sum };
