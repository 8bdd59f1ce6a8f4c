/** The dialect sends to nodes of each release what this release has. */
import t from 'tap'
import { isInRelease, type NodeCall } from '../../../src/core/node-call.ts'
import { callsOf, requestsOf, translated } from './dialect-calls.ts'
import { DESCRIBED, findFault, MINORS, operationsOf } from './v4-contract.ts'

/** A release without a description is like the one before it, or like the next one. */
function worldsOf(minor: number): readonly number[] {
  const before = DESCRIBED.findLast((known) => known <= minor) ?? minor
  const after = DESCRIBED.find((known) => known >= minor) ?? minor
  return [...new Set([before, after])]
}

const worlds = MINORS.flatMap((minor) => worldsOf(minor).map((world) => ({ minor, world })))
/** What a release does not have is not sent to it. */
const requestsTo = (minor: number) =>
  translated.filter(({ translation }) => isInRelease(translation?.releases, `4.${minor}`)).flatMap(requestsOf)
/** Some plans wait for the node, so all requests are under way at once. */
const allAsked = worlds.map(({ minor, world }) => {
  const known = operationsOf(world)
  const asking = { version: `4.${minor}.2`, refuse: (call: NodeCall) => findFault(known, call) }
  return Promise.all(requestsTo(minor).map((request) => callsOf(request, asking)))
})

for (const [at, { minor, world }] of worlds.entries()) {
  const isDescribed = world === minor
  t.test(`release 4.${minor}${isDescribed ? '' : ` with the calls of 4.${world}`}`, async (t) => {
    const asked = (await allAsked[at]) ?? []
    // Without a description, the node itself shows what it does not have, and another call follows.
    const wrong = asked.flatMap((sent) =>
      sent.filter(({ fault }, place) => fault !== undefined && (isDescribed || place === sent.length - 1)),
    )
    t.ok(asked.flat().length > 1_000, `${asked.flat().length} calls`)
    const calls = wrong.map(({ call, fault }) => `${call.method} ${call.path}: ${fault?.detail}`)
    t.same(
      [...new Set(calls)],
      [],
      `release 4.${world} has each call in test/contract/data/v4-endpoints.yaml, or the translation names another one in "since", or lacks it in "releases" (an inventory: "ofOneSince")`,
    )
  })
}
