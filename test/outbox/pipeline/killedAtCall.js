// Loaded before a process: kills it before its call number KILL_AT to the file system that concerns the folder KILL_IN.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const { KILL_AT, KILL_IN } = process.env
const CALLS =
  'existsSync fsyncSync linkSync mkdirSync openSync readFileSync renameSync rmSync statfsSync writeFileSync'
let calls = 0

const concerns = (args) => args.some((arg) => typeof arg === 'string' && arg.startsWith(KILL_IN))

for (const name of CALLS.split(' ')) {
  const call = fs[name]
  fs[name] = (...args) => {
    if ((name === 'fsyncSync' || concerns(args)) && ++calls === Number(KILL_AT))
      process.kill(process.pid, 'SIGKILL')
    return call(...args)
  }
}
syncBuiltinESMExports()
