/** Prints how many recorded exchanges of the newer contract the edge answers as the manager does, and what differs. */
import { readOptions } from '../../support/script-options.ts'
import { differentLines } from './differences.ts'
import { type ReplayResult, replayPassedOn, replayRefusals } from './replay.ts'

function print(title: string, results: readonly ReplayResult[]): void {
  const differing = results.filter(({ differences }) => differences.length > 0)
  for (const { name, differences } of differing) console.log(`${name}\n   ${differences.join('\n   ')}`)
  const intended = results.filter(({ line }) => differentLines.includes(line)).length
  const alike = results.length - differing.length - intended
  console.log(`${title}: ${alike} of ${results.length} agree, ${intended} differ on purpose`)
}

readOptions({
  name: 'check:contract',
  purpose: 'Replays the recorded exchanges of the newer contract at the edge, and prints what differs.',
  options: {},
})
print('refused without a call', await replayRefusals())
print('passed on', await replayPassedOn())
