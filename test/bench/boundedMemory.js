// The memory that `headrace send` needs for a file of 1,000,000 events when the receiver is slow: it must be the same as for a small
// file, because a source gives no more than the pipeline takes. It takes some minutes, so it runs at night.
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import { calls } from './events.js'
import { here, withFolder, withReceiver } from './measure.js'

const COMMAND = here('../../dist/cli/main.js')
const MOST_MEGABYTES = 300
/** Each of 16 connections answers after this many milliseconds: some thousands of events a second. */
const DELAY = 2
const EVENTS = [10_000, 1_000_000]

/** Runs in the command's process, and tells on a channel of its own what it needed at most. */
const TELL_PEAK = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs'
  process.on('exit', () => writeSync(3, String(process.resourceUsage().maxRSS)))`)}`

const writeEvents = async (file, count) => {
  const inputs = calls('small')
  const out = createWriteStream(file)
  for (let at = 0; at < count; at++) {
    const line = `${JSON.stringify({ ...inputs[at % inputs.length], messageId: `message-${at}` })}\n`
    if (!out.write(line)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
}

/** Sends the file, and answers the peak of its resident memory in bytes and the seconds it took. */
const send = async (file, url) => {
  const start = performance.now()
  const options = { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] }
  const child = spawn(
    process.execPath,
    ['--import', TELL_PEAK, COMMAND, 'send', file, '--to', url, '--output', 'quiet'],
    options,
  )
  let peak = ''
  child.stdio[3].on('data', (chunk) => (peak += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`headrace send ended with ${code}`)
  return { bytes: Number(peak) * 1_024, seconds: (performance.now() - start) / 1_000 }
}

const sendEvents = (count, file) =>
  withReceiver({ delay: DELAY }, async ({ url, counts }) => {
    await writeEvents(file, count)
    const { bytes, seconds } = await send(file, url)
    const { requests } = await counts()
    if (requests !== count) throw new Error(`${requests} requests arrived, and not ${count}`)
    const megabytes = bytes / 1e6
    return {
      what: `${count.toLocaleString('en')} events, ${Math.round(seconds)} s`,
      figure: megabytes,
      unit: 'MB at most',
      target: `<= ${MOST_MEGABYTES}`,
      met: megabytes <= MOST_MEGABYTES,
    }
  })

export const run = () =>
  withFolder(async (folder) => {
    const rows = []
    for (const count of EVENTS) rows.push(await sendEvents(count, join(folder, 'events.ndjson')))
    return rows
  })
