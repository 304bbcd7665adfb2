// What an outbox with 1,000,000 items of 1 KB needs: memory while they come, when it is opened anew, while each fails once and waits for an
// hour, and while they are delivered; and how long opening takes. Each in a process of its own, the mapped file not counted. Takes some minutes.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROCESS = fileURLToPath(new URL('lmdbOutboxProcess.js', import.meta.url))
const COUNT = 1_000_000
const MOST_MEGABYTES = 400
const MOST_MILLISECONDS = 2_000

const live = async (path, task) => {
  const child = fork(PROCESS, [path, task, String(COUNT)])
  const [[told], [code]] = await Promise.all([once(child, 'message'), once(child, 'exit')])
  if (code !== 0) throw new Error(`${task} ended with ${code}`)
  return told
}

const memory = (what, { peak, seconds, waiting }) => ({
  what: `${what}, ${Math.round(seconds)} s, ${waiting.toLocaleString('en')} wait`,
  figure: peak / 1e6,
  unit: 'MB at most',
  target: `<= ${MOST_MEGABYTES}`,
  met: peak / 1e6 <= MOST_MEGABYTES,
})

const opening = (what, { opening: ms }) => ({
  what,
  figure: ms,
  unit: 'ms',
  target: `<= ${MOST_MILLISECONDS}`,
  met: ms <= MOST_MILLISECONDS,
})

export const run = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headrace-bench-'))
  const [fresh, parked] = [join(folder, 'fresh'), join(folder, 'parked')]
  try {
    const rows = [memory('appended', await live(fresh, 'fill'))]
    const opened = await live(fresh, 'open')
    rows.push(opening('opened with 1,000,000 new ones', opened), memory('opened', opened))
    rows.push(memory('delivered', await live(fresh, 'drain')))
    await live(parked, 'fill')
    rows.push(memory('parked', await live(parked, 'park')))
    rows.push(opening('opened with 1,000,000 parked ones', await live(parked, 'open')))
    return rows
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
