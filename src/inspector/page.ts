/**
 * The page, as it is sent: no framework, nothing of another host. Data goes in as text only. The policy of
 * the page names the digests of its script and its style. Rows keep their places, for focus and screen
 * readers. No dead letter of another part is shown: a click would change one of the chosen part. @module
 */
const text = `<!doctype html><html lang="en"><meta charset="utf-8"><title>headrace inspector</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
<style>
:root{color-scheme:light dark;--fg:#1b2230;--dim:#5c6778;--line:#dde2ea;--bg:#f6f7f9;--card:#fff;--ok:#12703f;
--bad:#b3202f;--warn:#8a5200;--acc:#1f56c0}@media(prefers-color-scheme:dark){:root{--fg:#e6eaf1;--dim:#9aa5b6;
--line:#2c3442;--bg:#11151c;--card:#1a202a;--ok:#4cc98a;--bad:#ff7d87;--warn:#e9ae52;--acc:#82adff}}*{
box-sizing:border-box}[hidden]{display:none!important}body{margin:0 auto;max-width:1180px;padding:0 16px 24px;
font:14px/1.45 system-ui,sans-serif;font-variant-numeric:tabular-nums;color:var(--fg);background:var(--bg)}
header{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;padding:16px 0 12px}h1,h2,p,dd{margin:0}
h1,#word{font-size:16px}h2{font-size:13px;color:var(--dim);flex:1}#why{flex-basis:100%}#why,.c,li span{
overflow-wrap:anywhere}#why,.none,dt,#legend,thead th,li time{color:var(--dim)}main{display:grid;gap:12px;
grid-template-columns:repeat(2,minmax(0,1fr))}section,button,select,dialog{color:var(--fg);
background:var(--card);border:1px solid var(--line)}section{border-radius:8px;padding:12px 14px;min-width:0}
.wide{grid-column:1/-1}.bar{display:flex;gap:8px;align-items:center;margin-bottom:6px}dl{display:flex;
flex-wrap:wrap;gap:6px 28px;margin:0}dl div{display:flex;flex-direction:column-reverse}dt,#legend,thead th{
font-size:12px}dd{font-size:21px;font-weight:600}.scroll{overflow:auto;max-height:420px}table{
border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:baseline;font-weight:400;
padding:4px 12px 4px 0;border-top:1px solid var(--line);white-space:nowrap;max-width:320px;overflow:hidden;
text-overflow:ellipsis}.c{white-space:normal;min-width:150px;max-width:none}.r{text-align:right}thead th{
border:0}.scroll:has(tbody:empty),.scroll:not(:has(tbody:empty))+.none,ul:not(:empty)+.none{display:none}.ok,
.Delivering,.Delivered,.taken{color:var(--ok)}.flaky,.Degraded,.Dropped,.waits{color:var(--warn)}.failing,
.Failing,.Rejected,.Expired,.Abandoned,.Disconnected,.Locked,.failed{color:var(--bad)}.idle{color:var(--dim)}
svg{display:block;width:100%;height:120px;border-bottom:1px solid var(--line)}polyline{fill:none;
stroke:var(--c);stroke-width:1.6;vector-effect:non-scaling-stroke}.a{--c:var(--acc)}.d{--c:var(--ok)}.f{
--c:var(--bad)}#legend{display:flex;flex-wrap:wrap;gap:4px 16px;margin:6px 0 0}#legend b{
border-bottom:2px solid var(--c);font-weight:400}label,button,select{max-width:100%}button,select{
font:inherit;border-radius:6px;padding:1px 10px}button{cursor:pointer}button:disabled{opacity:.5;
cursor:default}th button{border:0;padding:0;color:var(--acc);overflow:hidden;text-overflow:ellipsis}
:focus-visible{outline:2px solid var(--acc);outline-offset:1px}ol,ul{list-style:none;margin:0;padding:0}li{
display:flex;gap:10px;padding:2px 0}li time{flex:0 0 90px;text-align:right}dialog{border-radius:10px;
max-width:400px}dialog p{padding-bottom:12px}dialog::backdrop{background:#0008}@media(max-width:760px){main{
grid-template-columns:minmax(0,1fr)}.x{display:none}dl{gap:6px 20px}th,td{max-width:38vw}}
</style>
<header><h1>headrace</h1><strong id="word" role="status">Connecting</strong>
<label id="choose" hidden>Part <select id="part"></select></label><p id="why"></p></header>
<main hidden><section class="wide" aria-label="Totals"><dl id="totals"></dl></section>
<section class="wide"><div class="bar"><h2>Events a second, last two minutes</h2></div>
<svg id="chart" role="img" viewBox="0 0 118 100" preserveAspectRatio="none"><polyline class="a"/>
<polyline class="d"/><polyline class="f"/></svg><p id="legend"><b class="a">accepted</b>
<b class="d">delivered</b><b class="f">failed requests</b><span id="peak"></span></p></section>
<section class="wide" id="sinks"><div class="bar"><h2>Receivers</h2></div></section>
<section class="wide" id="dead"><div class="bar"><h2 tabindex="-1">Dead letters</h2>
<button id="redrive">Redrive all</button><button id="purge">Purge all</button></div></section>
<section id="waiting"><div class="bar"><h2>Waiting, oldest first</h2></div></section>
<section id="ended"><div class="bar"><h2>Ended, newest first</h2></div></section>
<section><h2 id="whose" tabindex="-1">Story: choose the id of an event</h2><ol id="story"></ol></section>
<section><h2>Notes</h2><ul id="notes"></ul><p class="none">No refusal and no defect.</p></section></main>
<dialog id="ask" aria-labelledby="question"><p id="question"></p><button id="yes"></button>
<button id="no">Cancel</button></dialog>
<script>
 const $ = (id) => document.getElementById(id), query = (selector) => document.querySelector(selector)
 const make = (tag, props, ...children) => {
  const it = Object.assign(document.createElement(tag), props)
  it.append(...children)
  return it
}
 const ms = (n) => n < 10 ? Math.round(n * 10) / 10 + ' ms' : n < 1e3 ? Math.round(n) + ' ms' : n < 12e4 ?
  (n / 1e3).toFixed(1) + ' s' : n < 72e5 ? Math.round(n / 6e4) + ' min' :
  n ? (n / 36e5).toFixed(1) + ' h' : ''
 const set = (element, text, name) => {
  if (element.textContent !== String(text)) element.textContent = text
  if (name !== undefined) element.className = name
}
 const say = (word, why) => {
  set($('word'), word, word); set($('why'), why)
  query('main').hidden = $('part').disabled = word === 'Locked' || !parts[0]
}
 const token = new URLSearchParams(location.hash.slice(1)).get('t')
 let parts = [], chosen = 0, deadOf, listed, story, many
 const ask = async (path, body) => {
  const how = body && { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(path, { ...how, headers: { authorization: 'Bearer ' + token } })
  if (answer.ok) return answer
  const { error } = await answer.json()
  if (answer.status === 401) say('Locked', error)
  throw Error(error)
}
 const get = async (path, body) => (await ask(path, body)).json()
 const fill = (of, list, cellsOf) => {
  const body = query('#' + of + ' tbody')
  const old = new Map([...body.children].map((row) => [row.dataset.key, row]))
  list.forEach((item, at) => {
    const key = String(item.key || item.id || item.name), row = old.get(key) || make('tr')
    old.delete(key); row.dataset.key = key
    cellsOf(item).forEach(([text, name = '', act, label], n) => {
      const cell = row.children[n] || row.appendChild(n ? make('td') : make('th', { scope: 'row' }))
      if (!act) { set(cell, text, name); cell.title = text; return }
      const button = cell.firstChild || cell.appendChild(make('button', { ariaLabel: label }))
      set(button, text)
      button.onclick = act
    })
    if (body.children[at] !== row) body.insertBefore(row, body.children[at])
  })
  while (body.children[list.length]) body.lastChild.remove()
}
for (const [of, ariaLabel, none, heads] of [
  ['sinks', 'Receivers', 'Nothing was sent.',
    'receiver|state|taken r|failed r|skipped r x|p50 r x|p95 r|last failure x'],
  ['dead', 'Dead letters', 'None.', 'id|||cause|kind x|when x'],
  ['waiting', 'Waiting events', 'None.', 'id|age r|requests r|next r|cause x'],
  ['ended', 'Ended events', 'None.', 'id|kind x|end|requests r|bytes r x']]) {
  const head = make('tr', {}, ...heads.split('|').map((each) => {
    const [, textContent, className] = /^(.*?)((?: [rx])*)$/.exec(each)
    return make('th', { scope: 'col', textContent, className })
  }))
  const table = make('table', { ariaLabel }, make('thead', {}, head), make('tbody'))
  $(of).append(make('div', { className: 'scroll', tabIndex: 0 }, table),
    make('p', { className: 'none', textContent: none }))
}
 const lines = (list, timeOf) => list.map((each) =>
  make('li', {}, make('time', { textContent: timeOf(each) }),
  make('span', { textContent: each.text, className: each.kind || '' })))
 const tell = async (part, id) => {
  const told = await get('story/' + part + '/' + encodeURIComponent(id))
  story = { part, id, state: told.state }
  set($('whose'), 'Story of ' + id)
  $('story').replaceChildren(...lines(told.steps, ({ at }) => '+' + (ms(at - told.at) || '0 ms')))
}
 const show = (value) => value.toLocaleString()
 const failed = (error) => set($('why'), error.message)
 const idCell = ({ id }) =>
  [id, '', () => tell(parts[chosen].key, id).then(() => $('whose').focus(), failed), 'Story of ' + id]
 const change = (verb, ids, what) => {
  const part = listed
  const effect = verb === 'Purge' ? '? This cannot be undone.' : '? It is sent again.'
  set($('question'), verb + ' ' + what + effect); set($('yes'), verb)
  $('yes').onclick = () => {
    $('ask').close(); query('#dead h2').focus()
    get(verb.toLowerCase() + '/' + part, { ids }).then(dead).catch(failed)
  }
  $('ask').showModal(); $('no').focus()
}
$('no').onclick = () => $('ask').close()
for (const verb of ['Redrive', 'Purge'])
  $(verb.toLowerCase()).onclick = () =>
   change(verb, undefined, 'all ' + many + ' dead letters of ' + parts[chosen].name)
 const dead = async () => {
  const of = parts[chosen].key
  $('dead').hidden = of !== listed
  const { list, count } = await get('dead/' + of)
  if (of !== parts[chosen].key) return
  $('dead').hidden = false; listed = of
  $('redrive').disabled = $('purge').disabled = !list[0]
  set(query('#dead h2'), 'Dead letters: ' + (many = show(count)))
  const button = (verb, { key, id = key }) => [verb, '', () => change(verb, [key], id), verb + ' ' + id]
  fill('dead', list, (d) => [d.id ? idCell(d) : [d.key], 'type' in d ? button('Redrive', d) : [''],
    button('Purge', d), [d.why, 'c'], [d.type, 'x'], [show(new Date(d.at)), 'x']])
}
 const draw = () => {
  const { key, word, why, totals, oldest, series, sinks, waiting, ended, notes, at,
    deadChanges } = parts[chosen]
  say(word, why.join(' · '))
  Object.entries({ ...totals, 'oldest waiting': ms(oldest) || '–' }).forEach(([name, value], n) => {
    const pair = $('totals').children[n] || $('totals').appendChild(make('div', {}, make('dt'), make('dd')))
    set(pair.children[0], name); set(pair.children[1], show(value))
  })
  const peak = Math.max(...series.flat())
  const [a, d, f] = series.map((each) => show(each.at(-1)))
  series.forEach((each, n) => $('chart').children[n].setAttribute('points',
    each.map((v, x) => x + ',' + (99 - 97 * v / (peak || 1)).toFixed(1)).join(' ')))
  $('chart').ariaLabel = 'Last second: ' + a + ' accepted, ' + d + ' delivered, ' + f + ' failed requests'
  set($('peak'), d + ' delivered in the last second, peak ' + show(peak))
  fill('sinks', sinks, (k) => [[k.name], [k.state, k.state], [show(k.taken), 'r'],
    [show(k.failed), 'r'], [show(k.skipped), 'r x'], [ms(k.p50), 'r x'], [ms(k.p95), 'r'],
    [k.last, 'x']])
  fill('waiting', waiting, (e) => [idCell(e), [ms(at - e.at), 'r'], [e.requests, 'r'],
    [e.due > at ? 'in ' + ms(e.due - at) : 'now', 'r'], [e.last, 'x c']])
  fill('ended', ended, (e) =>
    [idCell(e), [e.type, 'x'], [e.state, e.state], [e.requests, 'r'], [e.bytes, 'r x']])
  $('notes').replaceChildren(...lines(notes, (note) => new Date(note.at).toLocaleTimeString()))
  const of = [key, deadChanges].join()
  if (deadOf !== of) dead(deadOf = of).catch((e) => { deadOf = 0; failed(e) })
  if (story?.state === 'Waiting') tell(story.part, story.id).catch((e) => { story = 0; failed(e) })
}
$('part').onchange = () => { chosen = $('part').selectedIndex; draw() }
 const follow = async () => {
  const reader = (await ask('stream')).body.pipeThrough(new TextDecoderStream()).getReader()
  for (let text = '', next = await reader.read(); !next.done; next = await reader.read()) {
    const whole = (text + next.value).split('\\n')
    text = whole.pop()
    if (!whole[0]) continue
    const was = parts[chosen]?.key
    parts = JSON.parse(whole.at(-1))
    chosen = Math.max(0, parts.findIndex(({ key }) => key === was))
    $('choose').hidden = parts.length < 2; $('part').length = parts.length
    parts.forEach(({ name }, n) => set($('part').options[n], name))
    $('part').selectedIndex = chosen
    if (parts[0]) draw()
  }
}
 const again = () => {
  if ($('word').textContent === 'Locked') return
  say('Disconnected', 'It has ended, or has no time to answer. Trying again.')
  setTimeout(() => follow().then(again, again), 2000)
}
follow().then(again, again)
</script></html>
`

/** Its type is no literal, or the declaration would be the whole page once more. */
export const page: string = text
