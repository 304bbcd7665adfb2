// Plays one experiment with one peer, in a process of its own, for peers crash: `player.js PEER EXPERIMENT URL QUICK`. What it finds it tells
// its parent piece by piece, so that a crash takes nothing back.
import { experiments } from './experiments.js'
import { peers } from './peers.js'

const [name, id, url, quick] = process.argv.slice(2)
const { ask = {}, play } = experiments.find((each) => each.id === id)

const say = (found) => process.send(found)
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A peer that cannot be opened says nothing about it: then the lab is wrong. */
const open = async (more = {}) => {
  try {
    return await peers[name]({ url, ...ask, ...more })
  } catch (error) {
    say({ notOpened: String(error) })
    throw error
  }
}
const { stays = true } = (await play({ open, say, sleep, quick: quick === 'true', name })) ?? {}
// Most experiments end here, whatever the peer still does; one asks when the process ends by itself.
if (stays) process.exit()
