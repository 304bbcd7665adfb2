#!/usr/bin/env node
import { runCommand } from './program.ts'
import { SIGNALS } from './terminal.ts'

process.exitCode = await runCommand(process.argv.slice(2))
// From now on a signal ends the process, as it does by default.
for (const signal of SIGNALS) process.removeAllListeners(signal)
