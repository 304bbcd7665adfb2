// A process that works an lmdb outbox: `lmdbProcess.js TASK FOLDER [NUMBER]`. It tells on stdout what the outbox answers.
import { closeSync, openSync, writeSync } from 'node:fs'
import { lmdbOutbox, openLmdbOutbox } from '../../dist/outbox/lmdb/index.js'

const [task, path, number] = process.argv.slice(2)
const say = (...words) => writeSync(1, `${words.join(' ')}\n`)
const codec = { toText: (item) => item, fromText: (text) => text, sizeOf: (item) => item.length }
const textOf = (key) => `${key} ${'é'.repeat(key.length * 40)}`
const open = (more = {}) => lmdbOutbox({ path, codec, keepDead: 1_000_000, ...more })
const delivered = (entry) => ({
  entry,
  outcome: { _tag: 'Delivered', item: entry.item, attempts: 1, receipt: { sink: 'a' } },
})

const tasks = {
  sync: async () => {
    const outbox = open()
    for (let at = 1; at <= Number(number); at++) {
      await outbox.enqueue([textOf(`1-${at}`)])
      say('accepted', at)
    }
    await outbox.close()
  },

  /** Fills the outbox until it refuses, then ends every second item. Tells keys and messages as JSON. */
  fill: async () => {
    const unhandled = []
    process.on('unhandledRejection', (error) => unhandled.push(String(error)))
    const outbox = open()
    const accepted = []
    const refusals = new Set()
    for (let at = 0; at < 100_000 && refusals.size === 0; at += 64) {
      const keys = Array.from({ length: 64 }, (_, of) => `5-${at + of}`)
      const answers = await Promise.allSettled(keys.map(async (key) => outbox.enqueue([textOf(key)])))
      for (const [of, { status, reason }] of answers.entries()) {
        if (status === 'fulfilled') accepted.push(keys[of])
        else refusals.add(reason.message)
      }
    }
    const { waiting } = outbox.stats()
    const ending = (await outbox.lease(0, { count: 100_000, retries: 0 })).filter((_, at) => at % 2 === 0)
    for (let at = 0; at < ending.length; at += 100)
      await Promise.all(ending.slice(at, at + 100).map((entry) => outbox.ack([delivered(entry)])))
    await outbox.close()
    const ended = ending.map(({ item }) => item.split(' ')[0])
    say(JSON.stringify({ accepted, waiting, refusals: [...refusals], ended, unhandled }))
  },

  redrive: async () => {
    let seen = 0
    await open().dead.redrive(() => {
      if (seen++ === Number(number)) process.kill(process.pid, 'SIGKILL')
      return true
    })
  },

  create: async () => {
    const { stringify } = JSON
    JSON.stringify = (value) => {
      if ('evictedDeadLetters' in value) process.kill(process.pid, 'SIGKILL')
      return stringify(value)
    }
    open()
  },

  /** Opens it where this process may open only NUMBER files more. */
  noFiles: () => {
    const files = []
    try {
      for (;;) files.push(openSync('/dev/null'))
    } catch {
      files.slice(files.length - Number(number)).forEach((file) => closeSync(file))
    }
    open()
  },

  hold: async () => {
    const opened = openLmdbOutbox({ path, codec })
    say(opened._tag === 'Right' ? 'open' : opened.left.reason)
    process.stdin.resume()
    await new Promise((resolve) => process.stdin.on('end', resolve))
    if (opened._tag === 'Right') await opened.right.close()
  },
}
await tasks[task]()
