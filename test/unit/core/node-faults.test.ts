/** The table of faults: what a row says of one column must agree with the others, and with what errors mean elsewhere. */

import t from 'tap'
import { isNodeFailure, isOutcomeUnknown } from '../../../src/core/error-meanings.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { wasSent } from '../../../src/core/events.ts'
import {
  describeFailure,
  errorCodeOf,
  faultRules,
  isAnswered,
  isHeldBack,
  type NodeFault,
} from '../../../src/core/node-faults.ts'

const faults = Object.keys(faultRules) as NodeFault[]
/** The node has refused the call, so it has not carried it out. */
const REFUSALS: readonly NodeFault[] = ['refusedCredentials', 'blocked']
const errorOf = (fault: NodeFault, sent: boolean, request: { isRead: boolean; ofCaller: boolean }) =>
  new EdgeError(errorCodeOf({ fault, sent }, request))

for (const fault of faults) {
  const { sent, isReplaceable, health } = faultRules[fault]

  t.test(`${fault}: received or not, one answer in all columns`, async (t) => {
    t.equal(isHeldBack({ fault }), sent === 'never')
    t.equal(isAnswered({ fault }), sent === 'always')
    t.ok(isAnswered({ fault, status: 429 }), 'a node that refuses with a status has answered')
    t.notOk(isHeldBack({ fault, status: 429 }))
    t.equal(wasSent({ fault }), sent !== 'never')
    if (sent === 'never') t.equal(health, 'none', 'a node that receives nothing shows nothing')
  })

  t.test(`${fault}: the error of a write says whether it may have been carried out`, async (t) => {
    const request = { isRead: false, ofCaller: false }
    const mayBeDone = sent !== 'never' && !REFUSALS.includes(fault)
    t.equal(isOutcomeUnknown(errorOf(fault, true, request)), mayBeDone)
    if (mayBeDone && isReplaceable) t.notOk(isOutcomeUnknown(errorOf(fault, false, request)))
  })

  t.test(`${fault}: a failure of the node is served stale, one of the caller is not`, async (t) => {
    t.equal(isNodeFailure(errorOf(fault, true, { isRead: true, ofCaller: false })), fault !== 'cancelled')
    const { code } = errorOf(fault, true, { isRead: true, ofCaller: true })
    if (fault === 'refusedCredentials' || fault === 'loginsBlocked') t.notOk(isNodeFailure(new EdgeError(code)))
  })
}

t.test('the text of a failure says what it is about, and of which call', async (t) => {
  t.equal(describeFailure({ reason: 'connectionRefused' }), 'connection refused')
  t.equal(describeFailure({ reason: 'cutShort', about: 'CODE' }), 'response cut short')
  t.equal(describeFailure({ reason: 'callLimit', about: 30 }), 'limit of 30 calls per minute reached')
  t.equal(describeFailure({ reason: 'unreadableBody', about: '$& {node}', node: 'a' }), '$& {node}')
  const passedOn = describeFailure({ reason: 'passedOnStuck', about: 'w1, w2', node: 'master' })
  t.equal(passedOn, 'w1, w2 does not answer calls that master passes on')
  const login = describeFailure({ reason: 'status', about: 401, isOfLogin: true, otherLayout: 'v3' })
  t.equal(login, 'status 401 (login), its API has the v3 layout; check cluster.layout')
})
