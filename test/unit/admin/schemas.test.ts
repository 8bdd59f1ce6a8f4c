import { Ajv } from 'ajv'
import Fastify from 'fastify'
import t from 'tap'
import { consolePart } from '../../../packages/console/server/index.ts'
import type { Recorders } from '../../../packages/console/server/recorders.ts'
import type { EdgeView } from '../../../src/status/edge-view.ts'

t.test('every schema of the console API compiles without a warning, although a start compiles none', async (t) => {
  const schemas: [name: string, schema: object][] = []
  const app = Fastify({ logger: false })
  app.setValidatorCompiler(() => () => true)
  app.addHook('onRoute', ({ method, url, schema = {} }) => {
    for (const part of ['body', 'querystring', 'params'] as const)
      if (schema[part] !== undefined) schemas.push([`${method} ${url} ${part}`, schema[part] as object])
  })
  // The routes use the rest of the view, and the recorders, only for requests.
  const view = { cache: { index: { purgeCount: () => 0 } }, cluster: {} } as unknown as EdgeView
  await consolePart(view, { history: {} } as Recorders, undefined)(app)
  await app.ready()
  t.teardown(() => app.close())
  t.ok(schemas.length > 5, 'schemas were found')
  const ajv = new Ajv({ strict: true, strictTypes: true, strictRequired: false, logger: { ...console, warn: t.fail } })
  for (const [name, schema] of schemas) t.doesNotThrow(() => ajv.compile(schema), name)
})
