import t from 'tap'
import { printMeasured } from '../src/commands/output.ts'

t.test('JSON of commands names the unit of each duration, also in nested rows', async (t) => {
  const { write } = process.stdout
  let text = ''
  process.stdout.write = (chunk: string | Uint8Array) => {
    text += chunk
    return true
  }
  try {
    printMeasured({
      next: { hit: true, age: 5, timeLeft: 7 },
      nodes: [{ name: 'age', p50: 1, p99: 2, savedPerSecond: 3 }],
      age: 'text',
    })
  } finally {
    process.stdout.write = write
  }
  t.strictSame(JSON.parse(text), {
    next: { hit: true, ageMs: 5, timeLeftMs: 7 },
    nodes: [{ name: 'age', p50Ms: 1, p99Ms: 2, savedMsPerSecond: 3 }],
    age: 'text',
  })
})
