/** Stores that were damaged at random, opened and delivered in processes of their own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { diskFolder } from '../support/folder.ts'
import { sized } from '../support/runs.ts'

const CHILD = fileURLToPath(new URL('damageProcess.js', import.meta.url))
const DAMAGES = sized({ short: 5, full: 50, long: 500 })
const LIMIT_MS = 120_000

/** What a process says of each damaged store from this one on, until it has done all, dies, or says nothing for too long. */
const judge = async (folder: string, from: number): Promise<ReadonlyArray<string>> => {
  const child = spawn(process.execPath, [CHILD, 'damage', folder, String(from), String(DAMAGES)], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const end = (): boolean => child.kill('SIGKILL')
  let timer = setTimeout(end, LIMIT_MS)
  const lines: string[] = []
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => {
    lines.push(line)
    clearTimeout(timer)
    timer = setTimeout(end, LIMIT_MS)
  })
  const [[code, signal]] = await Promise.all([once(child, 'exit'), once(output, 'close')])
  clearTimeout(timer)
  if (code !== 0) lines.push(`${String(from + lines.length)} ended the process: ${String(signal ?? code)}`)
  return lines
}

it(`H5 H6 H17: of ${String(DAMAGES)} damaged stores each is refused, or delivers what is left`, async () => {
  const folder = diskFolder()
  const [code] = await once(spawn(process.execPath, [CHILD, 'make', folder], { stdio: 'inherit' }), 'exit')
  expect(code).toBe(0)
  const told: string[] = []
  while (told.length < DAMAGES) told.push(...(await judge(folder, told.length)))
  const isRight = /^\d+ (refused (damaged|notAnOutbox)|opened \d+ ended, 0 wait)$/
  expect(told.filter((line) => !isRight.test(line))).toEqual([])
  // The first is a sound one.
  expect(told[0]).toMatch(/^0 opened/)
  expect(told.some((line) => line.includes('refused'))).toBe(true)
})
