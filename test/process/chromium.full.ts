import { left } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { refused } from '../../src/core/failure.ts'
import { inspector } from '../../src/inspector/inspector.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { memory } from '../../src/sink/memory.ts'
import { openOver, track } from '../destination/virtual.ts'
import { openPage } from '../support/chromium.ts'

it('shows what runs: no message in the console, names for all controls, and redrives by a click', async () => {
  const state = { isDown: true }
  const crm = async () => (state.isDown ? left(refused('status', { status: 410 })) : undefined)
  const destination = openOver([sink('crm/', crm), sink('crm', crm)], { logger: false })
  const client = createClient('k', { sink: memory({ maxCount: 1e6 }), logger: false, drainOnExit: false })
  const panel = inspector(destination, client)
  const { url } = await panel.listen()
  const locked = await openPage(url.replace(/#.*/, ''))
  await locked.until(`window.word?.textContent === 'Locked' && !document.querySelector('main').clientHeight`)
  await locked.close()
  const page = await openPage(url)
  await page.until(`document.querySelector('#word')?.textContent === 'Idle'`)
  for (const id of ['m1', 'm2']) await destination.send(track(id))
  // The list may be newer than the word: the page asks for it by itself.
  const deadRows = `document.querySelectorAll('#dead tbody tr').length`
  await page.until(`${deadRows} === 2 && word.textContent === 'Failing'`)
  const controls = await page.controls()
  for (const name of [
    ...['status', 'StaticText Failing', 'combobox Part', 'button Redrive all', 'button Purge all'],
    ...['table Receivers', 'button Story of m1', 'button Redrive m1', 'button Purge m2'],
    ...['rowheader Story of m1', 'columnheader cause'],
  ])
    expect(controls).toContainEqual(expect.stringMatching(new RegExp(`^${name}`)))
  expect(controls.filter((one) => /^(button|combobox|table|image|dialog|rowheader) ?$/.test(one))).toEqual([])
  state.isDown = false
  await page.evaluate(`document.querySelector('#dead tbody tr button[aria-label="Redrive m1"]').click()`)
  const asked = await page.evaluate('question.textContent + document.activeElement.id')
  expect(asked).toBe('Redrive m1? It is sent again.no')
  await page.evaluate('yes.click()')
  await page.until(`${deadRows} === 1`)
  const question = await page.evaluate('purge.click(), no.click(), question.textContent')
  expect([question, destination.stats().delivered].join()).toMatch(/all 1 dead letters of destination.*,1$/)
  await page.evaluate(`document.querySelector('#dead tbody th button').click()`)
  await page.until(`$('story').innerText.includes('rejected after 1 attempt')`)
  expect(await page.evaluate(`draw(), draw(), query('#sinks table').rows.length`)).toBe(3)
  const choose = (n: number): string => `part.selectedIndex = ${n}, part.onchange()`
  await page.evaluate(`window.ask = fetch, window.fetch = async (path, how) =>
    (await new Promise((go) => setTimeout(go, /d.1$/.test(path) && 200)), window.ask(path, how))`)
  expect(await page.evaluate(`${choose(1)}, $('dead').hidden`)).toBe(true)
  const late = `new MutationObserver(() => listed && go('late')).observe($('dead'), { attributes: true })`
  const back = `${choose(0)}, new Promise((go) => (${late}, setTimeout(go, 400, ${deadRows})))`
  expect(await page.evaluate(back)).toBe(1)

  // 10,000 events a second for three seconds: the page has no long task.
  await page.evaluate(`${choose(1)}, window.long = [],
    new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' })`)
  const seen = () => client.track({ userId: 'u', event: 'Seen' })
  const sending = setInterval(() => Array.from({ length: 100 }, seen), 10)
  await page.until(`Number(document.querySelector('#totals dd').textContent.replace(/,/g, '')) > 20000`)
  clearInterval(sending)
  expect(await page.evaluate('word.textContent + long.filter((each) => each > 100)')).toBe('Delivering')

  // The part that is shown is found again in another place.
  panel.update(client)
  await page.until(`choose.hidden && part.length === 1 && word.textContent === 'Delivering'`)
  panel.update(destination, client)
  await page.until(`!choose.hidden && part.selectedIndex === 1`)
  expect([await page.evaluate('word.textContent'), page.problems]).toEqual(['Delivering', []])
  await panel.close()
  await page.until(`word.textContent === 'Disconnected'`)
  await page.close()
  await Promise.all([destination.close({ timeout: 0 }), client.close()])
})
