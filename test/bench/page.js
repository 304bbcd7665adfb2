// `page.js FILE [--write]`: compares the figures in FILE (`npm run bench -- all --json FILE`) with the tables of docs/performance.md. It prints each
// ratio that became worse than the range of the page, and exits with 1. `--write` writes the tables anew: use it after `release`.
// A table is the first one below a heading that names the command of its bench.
import { readFile, writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { here } from './measure.js'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { write: { type: 'boolean' } } })
const path = here('../../docs/performance.md')
const page = await readFile(path, 'utf8')
const { found, machine } = JSON.parse(await readFile(positionals[0], 'utf8'))
const HEAD = ['case', 'figure', 'ratio (range)', 'user time', 'target', 'met']
const number = (value) => value.toLocaleString('en', { maximumSignificantDigits: value < 1 ? 2 : 3 })
const times = (value) => (value === undefined ? '' : value.toFixed(2))

const cellsOf = ({ what, figure, unit, ratio, low, high, user, target, met }) => [
  what,
  `${number(figure)} ${unit}`,
  ratio === undefined ? '' : `${times(ratio)} (${times(low ?? ratio)}-${times(high ?? ratio)})`,
  times(user),
  target ?? '',
  met === undefined ? '' : met ? 'met' : 'missed',
]

const tableOf = (rows) => {
  const lines = [HEAD, ...rows.map(cellsOf)]
  const widths = HEAD.map((_, at) => Math.max(...lines.map((cells) => cells[at].length)))
  const lineOf = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  const [head, ...others] = lines.map(lineOf)
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others].join('\n')
}

const sectionOf = (bench) => new RegExp(`(## [^\n]*bench -- ${bench}\`\n[^]*?\n)(\\|[^]*?\\|)(\n\n|\n$)`)

/** By place: a base has a row in each of its plans. */
const rowsIn = (table) =>
  table
    .split('\n')
    .slice(2)
    .map((line) => {
      const [, what, , ratio = ''] = line.split('|').map((cell) => cell.trim())
      const [, middle, low, high] = /^([\d.]+) \(([\d.]+)-([\d.]+)\)$/.exec(ratio)?.map(Number) ?? []
      return { what, middle, low, high }
    })

/** The part by which a ratio may leave the range of the page: it is rounded there, and a figure of one round has none. */
const SLACK = 1.05
const ROUNDED = 0.01

let written = page.replace(
  /Taken on [^\n]*\n/,
  `Taken on ${machine.date}, ${machine.cores} cores of ${machine.cpu}, Node ${machine.node}.\n`,
)
for (const [bench, { rows, load }] of Object.entries(found)) {
  const [, , table] = sectionOf(bench).exec(page) ?? []
  if (table === undefined) {
    console.log(`${bench}: the page has no table`)
    process.exitCode = 1
    continue
  }
  const known = rowsIn(table)
  const drawn = tableOf(rows)
  written = written.replace(sectionOf(bench), (_, before, _table, after) => `${before}${drawn}${after}`)
  for (const [at, { what, ratio, target = '' }] of rows.entries()) {
    const told = known[at]
    if (told?.what !== what) console.log(`${bench}: ${what} is not on the page`)
    if (ratio === undefined || told?.middle === undefined) continue
    const isWorse = target.startsWith('>')
      ? ratio < told.low / SLACK - ROUNDED
      : ratio > told.high * SLACK + ROUNDED
    if (!isWorse) continue
    const range = `${times(told.middle)} (${times(told.low)}-${times(told.high)})`
    console.log(`${bench}: ${what} has ${times(ratio)}; the page says ${range} (load ${load})`)
    if (values.write !== true) process.exitCode = 1
  }
}
if (values.write === true) await writeFile(path, written)
