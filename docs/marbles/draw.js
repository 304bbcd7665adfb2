/** Draws docs/marbles/*.svg from marbles.txt: `npm run docs:marbles`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const COLUMN = 22
const ROW = 40
const RADIUS = 10
const LEFT = 96

/** The fill and the line of each sort of marble. */
const COLOURS = {
  item: ['#dbe9ff', '#2f5f9e'],
  result: ['#e6dcfa', '#6b46a8'],
  left: ['#e3e5e8', '#5b636b'],
  '+': ['#d2f0dc', '#237a3f'],
  '!': ['#fbdcd9', '#b3362a'],
  '~': ['#fdf0c4', '#8f6a06'],
  '=': ['#d2f0dc', '#237a3f'],
}

/** The signs of verdicts: their shape inside a circle around 0, and their meaning. */
const SIGNS = {
  '+': ['M-4.5 0l3 4 6-8', 'delivered'],
  '!': ['M-3.5-3.5l7 7m0-7l-7 7', 'failed, may be tried again'],
  '~': ['M-2.5-4.5v9m5-9v9', 'held back: not started'],
  '=': ['M-4.5-2.5h9m-9 5h9', 'delivered before: not sent'],
}

/** What happens in a row, as [column, sign]. What stands in brackets happens at the column of the bracket. */
export const marksOf = (text) => {
  const marks = []
  let group
  for (const [column, sign] of [...text].entries()) {
    if (sign === '(') group = column
    else if (sign === ')') group = undefined
    else if (sign !== '-') marks.push([group ?? column, sign])
  }
  return marks
}

const parse = (block) => {
  const [head = '', description = '', ...lines] = block.split('\n')
  const [name = '', title = '', unit = ''] = head.split(' | ')
  const pairs = (pattern) => lines.flatMap((line) => [...line.matchAll(pattern)].map(([, a, b]) => [a, b]))
  const rows = pairs(/^(\w+) +([-\w|()+!~=]+)$/g)
  return { name, title, unit: Number(unit), description, rows, legend: pairs(/^(\w) = (.+)$/g) }
}

const file = (name) => fileURLToPath(new URL(name, import.meta.url))

/** The diagrams of marbles.txt; its first block explains the form. */
export const diagrams = () =>
  readFileSync(file('marbles.txt'), 'utf8').trim().split('\n\n').slice(1).map(parse)

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const colourOf = (sign) =>
  COLOURS[sign] ?? COLOURS[sign === 'x' ? 'left' : sign === sign.toUpperCase() ? 'result' : 'item']

/** One marble, verdict or end at a place. */
const shapeOf = (sign, x, y) => {
  const at = `transform="translate(${x} ${y})"`
  if (sign === '|') return `<path class="end" ${at} d="M0-12v24"/>`
  const [fill, stroke] = colourOf(sign)
  const circle = `<circle r="${RADIUS}" fill="${fill}" stroke="${stroke}"/>`
  const inside =
    sign in SIGNS
      ? `<path d="${SIGNS[sign][0]}" stroke="${stroke}"/>`
      : `<text y="4.5">${escape(sign)}</text>`
  return `<g class="marble" ${at}>${circle}${inside}</g>`
}

/** A row: its label, the arrow of time, and what happens. A group stands in a frame that begins at its moment. */
const rowOf = ([label, text], y, end) => {
  const xOf = (column) => LEFT + column * COLUMN
  const groups = [...text.matchAll(/\(([^)]+)\)/g)].map(({ index, 1: signs }) => {
    const width = (signs.length - 1) * COLUMN + 2 * RADIUS + 8
    return `<rect class="group" x="${xOf(index) - RADIUS - 4}" y="${y - 14}" width="${width}" height="28" rx="14"/>`
  })
  const seen = new Map()
  const shapes = marksOf(text).map(([column, sign]) => {
    const before = seen.get(column) ?? 0
    seen.set(column, before + 1)
    return shapeOf(sign, xOf(column + before), y)
  })
  const arrow = `<path class="time" d="M${LEFT - 14} ${y}H${end}m-6-4l6 4-6 4"/>`
  return [`<text class="label" x="14" y="${y + 4}">${escape(label)}</text>`, arrow, ...groups, ...shapes]
}

/** The SVG of a diagram: a light panel of its own, readable on a light and on a dark page. */
export const draw = ({ name, title, unit, description, rows, legend }) => {
  const used = new Set(rows.flatMap(([, text]) => [...text]))
  const verdicts = Object.entries(SIGNS).filter(([sign]) => used.has(sign))
  const notes = [...legend, ...verdicts.map(([sign, [, meaning]]) => [sign, meaning])]
  const columns = Math.max(...rows.map(([, text]) => text.length))
  const scale = `1 column = ${unit} ms`
  // A letter of the title is at most 8 wide, one of the scale 7; they stand in one line.
  const line = title.length * 8 + scale.length * 7 + 42
  const width = Math.max(LEFT + columns * COLUMN + 20, line, 420)
  const top = 62
  const below = top + rows.length * ROW
  const height = below + notes.length * 24 - (notes.length > 0 ? 6 : 12)
  const body = [
    `<text class="title" x="14" y="28">${escape(title)}</text>`,
    `<text class="unit" x="${width - 14}" y="28">${scale}</text>`,
    ...rows.flatMap((row, at) => rowOf(row, top + at * ROW, width - 16)),
    ...notes.flatMap(([sign, meaning], at) => {
      const y = below + at * 24
      return [shapeOf(sign, 26, y), `<text class="note" x="44" y="${y + 4}">${escape(meaning)}</text>`]
    }),
  ]
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="${name}-title ${name}-desc">
<title id="${name}-title">${escape(title)}</title>
<desc id="${name}-desc">${escape(description)}</desc>
<style>
text { font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #24292f }
.title { font-weight: bold } .unit { text-anchor: end; fill: #5b636b; font-size: 11px } .note { font-size: 12px }
.marble text { text-anchor: middle; font-size: 12px } .marble path { fill: none; stroke-width: 2 }
.marble circle { stroke-width: 1.5 } .time { fill: none; stroke: #8b949e } .end { stroke: #24292f; stroke-width: 2.5 }
.group { fill: none; stroke: #8b949e; stroke-dasharray: 3 2 }
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#f6f8fa" stroke="#d0d7de"/>
${body.join('\n')}
</svg>
`
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const each of diagrams()) writeFileSync(file(`${each.name}.svg`), draw(each))
