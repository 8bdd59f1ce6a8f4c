import t from 'tap'
import { differentContent, differentState } from './exceptions.ts'
import { replay } from './replay.ts'

t.test('the simulated v4 layout answers recorded requests as the recorded cluster did', async (t) => {
  const { requests, thrown, differences, shapes } = await replay()
  t.ok(requests > 1500, `${requests} requests`)
  t.same(thrown, [], 'no defect of the simulator')

  await t.test('status, error code, and codes of failed items', async (t) => {
    const lines = differences.map(({ line }) => line)
    const unexpected = differences.filter(({ line }) => !differentState.has(line))
    t.same(unexpected, [])
    const settled = [...differentState.keys()].filter((line) => !lines.includes(line))
    t.same(settled, [], 'each exception is needed')
  })

  await t.test('fields and their types', async (t) => {
    for (const [call, { recorded, simulated }] of shapes) {
      const isContent = (field: string) =>
        differentContent.some(({ calls, fields }) => calls.test(call) && fields.test(field))
      const missing = [...recorded].filter((field) => !simulated.has(field) && !isContent(field))
      const extra = [...simulated].filter((field) => !recorded.has(field) && !isContent(field))
      t.same({ missing, extra }, { missing: [], extra: [] }, call)
    }
  })
})
