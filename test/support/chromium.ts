import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { WebSocket } from 'undici'
import { onTestFinished } from 'vitest'

export const chromium = spawnSync('sh', ['-c', 'command -v chromium || command -v google-chrome'], {
  encoding: 'utf8',
}).stdout.trim()

interface Answer {
  readonly result: { readonly value: unknown }
  readonly exceptionDetails?: object
  readonly nodes: ReadonlyArray<{ ignored: boolean; role?: { value: string }; name?: { value: string } }>
}

/** Opens a page. `problems`: messages of the console, errors, breaches of the page's policy. */
export const openPage = async (url: string) => {
  const folder = mkdtempSync(`${tmpdir()}/headrace-chromium-`)
  const profile = `--user-data-dir=${folder}`
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--remote-debugging-port=0', profile]
  const browser = spawn(chromium, [...flags, 'about:blank'], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(() => void browser.kill())
  const host = await new Promise<string>((resolve) => {
    browser.stderr.on('data', (data: Buffer) => {
      const [, found] = /DevTools listening on ws:\/\/([\w.:]+)/.exec(data.toString()) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  const targets = (await (await fetch(`http://${host}/json`)).json()) as ReadonlyArray<Record<string, string>>
  const socket = new WebSocket(targets.find(({ type }) => type === 'page')?.['webSocketDebuggerUrl'] ?? '')
  await new Promise((resolve) => socket.addEventListener('open', resolve))
  const waiting: Array<(answer: Answer) => void> = []
  const problems: string[] = []
  socket.addEventListener('message', ({ data }) => {
    const message = JSON.parse(String(data)) as { id?: number; method?: string; result: Answer }
    if (message.id !== undefined) waiting[message.id]?.(message.result)
    else if (/^(Log\.e|Runtime\.(c|exc).*(Called|Thrown))/.test(message.method ?? ''))
      problems.push(String(data))
  })
  const call = (method: string, params: object = {}): Promise<Answer> =>
    new Promise((resolve) => socket.send(JSON.stringify({ id: waiting.push(resolve) - 1, method, params })))
  for (const domain of ['Log', 'Runtime', 'Page', 'Accessibility']) await call(`${domain}.enable`)
  const evaluate = async (expression: string): Promise<unknown> => {
    const given = { expression, awaitPromise: true, returnByValue: true }
    const { result, exceptionDetails } = await call('Runtime.evaluate', given)
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return result.value
  }
  await call('Page.navigate', { url })
  return {
    problems,
    evaluate,
    until: async (expression: string): Promise<void> => {
      while ((await evaluate(expression)) !== true) await new Promise((resolve) => setTimeout(resolve, 20))
    },
    controls: async (): Promise<ReadonlyArray<string>> =>
      (await call('Accessibility.getFullAXTree')).nodes.flatMap(({ ignored, role, name }) =>
        ignored ? [] : [`${role?.value ?? ''} ${name?.value ?? ''}`],
      ),
    close: async (): Promise<void> => {
      void call('Browser.close')
      await once(browser, 'exit')
      rmSync(folder, { recursive: true, force: true, maxRetries: 9, retryDelay: 100 })
    },
  }
}
