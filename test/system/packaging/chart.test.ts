import { execFileSync } from 'node:child_process'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import {
  BASE,
  CHART,
  digest,
  EVERYTHING,
  findHelm,
  RENDERED_FILES,
  render,
  template,
} from '../../support/chart/chart.ts'
import { faultsOf } from '../../support/chart/kubernetes-schemas.ts'

/** Every kind has its own shape. A missing member fails the test that reads it. */
type Manifest = ReturnType<typeof parse>

const read = (name: string) => readFileSync(name, 'utf8')
const manifestsOf = (text: string): Manifest[] =>
  [parseAllDocuments(text)].flat().flatMap((document) => document.toJS() ?? [])
const values = parse(read(join(CHART, 'values.yaml')))
const everything = manifestsOf(read(EVERYTHING))
const defaults = parse(read('config/default.yaml'))
const alerts = parse(read('config/prometheus/alerts.yml'))
const helm = findHelm()
const without = helm === undefined && 'helm is not installed (HELM=/path names one)'

t.test('the manifests of the repository were rendered from the present chart', async (t) => {
  for (const file of RENDERED_FILES)
    t.ok(read(file).includes(digest()), `${file}: run "npm run chart:render", which needs helm`)
})

t.test('every rendered resource is valid for the schemas of Kubernetes and the Prometheus operator', async (t) => {
  const rule = { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata: { name: 'x' }, spec: alerts }
  const all = [
    ...manifestsOf(read(BASE)),
    ...everything,
    rule,
    ...manifestsOf(read('config/kubernetes/secret.example.yaml')),
  ]
  for (const manifest of all) t.strictSame(faultsOf(manifest), [], `${manifest.kind} ${manifest.metadata.name}`)
  t.strictSame([...new Set(all.map(({ kind }) => kind))].sort(), [
    ...['ConfigMap', 'Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'PrometheusRule', 'Secret', 'Service'],
    'ServiceMonitor',
  ])
})

t.test('the validation finds unknown fields and wrong values at any depth', async (t) => {
  const planted = (change: (manifest: Manifest) => unknown) => {
    const copy = structuredClone(everything.find(({ kind }) => kind === 'Deployment'))
    change(copy)
    return faultsOf(copy)
  }
  t.strictSame(
    planted((it) => Object.assign(it.spec.template.spec.containers[0], { imagePullPolice: 'Always' })),
    ['Deployment: unknown field /spec/template/spec/containers/0/imagePullPolice'],
  )
  t.strictSame(
    planted((it) => Object.assign(it, { specc: 1 })),
    ['Deployment: unknown field /specc'],
  )
  t.match(
    planted((it) => Object.assign(it.spec, { replicas: 'two' })),
    [/^Deployment: .*replicas/],
  )
  t.match(
    planted((it) => Reflect.deleteProperty(it.spec, 'selector')),
    [/^Deployment: .*selector/],
  )
  t.match(
    planted((it) => Object.assign(it, { kind: 'Deploymint' })),
    ['no schema for apps/v1 Deploymint'],
  )
})

t.test('values have a schema that accepts the defaults and finds mistakes', async (t) => {
  const validate = new Ajv({ allErrors: true, allowUnionTypes: true, strict: true }).compile(
    JSON.parse(read(join(CHART, 'values.schema.json'))),
  )
  const faults = (change: object) =>
    validate({ ...values, ...change }) ? [] : validate.errors?.map((each) => each.instancePath)
  t.strictSame(faults({}), [])
  t.strictSame(faults(parse(read('test/support/chart/everything.values.yaml'))), [])
  t.strictSame(faults({ replicas: '2' }), ['/replicas'])
  t.strictSame(faults({ replica: 2 }), [''], 'an unknown value')
  t.strictSame(faults({ service: { type: 'Loadbalancer' } }), ['/service/type'])
  t.strictSame(faults({ networkPolicy: { enabled: 'yes' } }), ['/networkPolicy/enabled'])
  t.strictSame(faults({ secrets: { files: 'Not A Name' } }), ['/secrets/files'])
  const { properties } = JSON.parse(read(join(CHART, 'values.schema.json')))
  t.strictSame(
    Object.keys(values).sort(),
    Object.keys(properties)
      .filter((name) => name !== 'global')
      .sort(),
  )
})

t.test('version, ports and drain are those of the product', async (t) => {
  const chart = parse(read(join(CHART, 'Chart.yaml')))
  const { version } = JSON.parse(read('package.json'))
  t.match(chart, { version, appVersion: version })
  const helpers = read(join(CHART, 'templates/_helpers.tpl'))
  for (const section of ['listen', 'operations'])
    t.match(helpers, `"${section}" ${defaults[section].port})`, `the default port of ${section}`)
  t.match(read(join(CHART, 'templates/deployment.yaml')), `"limit" "${defaults.listen.drain.limit}"`)
  t.ok(values.terminationGracePeriodSeconds > Number.parseInt(defaults.listen.drain.limit, 10))
})

t.test('Prometheus finds each replica by the ServiceMonitor, under the job of the alert rules', async (t) => {
  const monitor = everything.find(({ kind }) => kind === 'ServiceMonitor')
  const labels = monitor.spec.selector.matchLabels
  const selected = everything.filter(
    ({ kind, metadata }) =>
      kind === 'Service' && Object.entries(labels).every(([name, value]) => metadata.labels[name] === value),
  )
  t.strictSame(
    selected.map(({ metadata }) => metadata.name),
    ['manager-edge-operations'],
  )
  const [endpoint] = monitor.spec.endpoints
  t.equal(endpoint.port, selected[0].spec.ports[0].name)
  t.equal(endpoint.scheme, 'https', 'as the configuration says')
  const { replacement } = endpoint.relabelings.find(({ targetLabel }: Manifest) => targetLabel === 'job')
  for (const { alert, expr } of alerts.groups[0].rules) t.match(expr, `job="${replacement}"`, alert)
})

t.test('the rules of the chart are config/prometheus/alerts.yml', async (t) => {
  t.equal(realpathSync(join(CHART, 'files/alerts.yml')), resolve('config/prometheus/alerts.yml'))
  t.match(read(join(CHART, 'templates/monitoring.yaml')), '.Files.Get "files/alerts.yml"')
})

t.test('helm renders the chart as it is in the repository', { skip: without }, async (t) => {
  for (const file of RENDERED_FILES) t.strictSame(manifestsOf(render(helm ?? '', file)), manifestsOf(read(file)), file)
  const rules = manifestsOf(template(helm ?? '', ['--set', 'prometheusRule.enabled=true']))
  t.strictSame(rules.find(({ kind }) => kind === 'PrometheusRule').spec, alerts, 'and the alert rules unchanged')
  execFileSync(helm ?? '', ['lint', CHART, '--strict', '--set-file', 'config=config/kubernetes/edge.yaml'])
})

t.test('helm refuses what would not start, and names the remedy', { skip: without }, async (t) => {
  const refusal = (args: readonly string[], config?: string) => {
    try {
      template(helm ?? '', args, config)
      return 'accepted'
    } catch (error) {
      return String((error as { stderr?: Buffer }).stderr)
    }
  }
  const missing = 'config is missing: pass the configuration of the edge with --set-file config=edge.yaml'
  t.match(refusal([], ''), missing)
  t.match(refusal(['--set', 'replica=3']), /replica.*not allowed/)
  t.match(refusal(['--set', 'terminationGracePeriodSeconds=30']), 'must be longer than the drain limit')
  const settings = read('config/kubernetes/edge.yaml')
  const file = join(t.testdir({}), 'edge.yaml')
  const withSettings = (from: string, to: string) => {
    writeFileSync(file, settings.replace(from, to))
    return refusal([], file)
  }
  t.match(withSettings('host: 0.0.0.0', 'host: 127.0.0.1'), 'listen.host is 127.0.0.1; write 0.0.0.0')
  t.match(withSettings('rediss://10.0.0.20', 'rediss://redis'), 'networkPolicy.egress: add rules for Redis')
  t.match(withSettings('listen:', 'listen: ]'), 'config is no YAML')
})
