// Writes an OCI image layout: node packaging/image/layout.mjs FOLDER SBOM LAYER.tar… (with LAYER.tar.gz beside each)
// What a container starts with is read from the last stage of the Dockerfile, so that both images start alike.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [layout, sbom, ...tars] = process.argv.slice(2)
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const created = new Date(Number(process.env.SOURCE_DATE_EPOCH) * 1000).toISOString()
const IMAGE_MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const CYCLONEDX = 'application/vnd.cyclonedx+json'
const NANOSECONDS_PER_SECOND = 1_000_000_000
/** The default of images whose base has no other. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

const instructions = instructionsOf('Dockerfile')
const labels = Object.fromEntries(instructions.LABEL.flatMap(pairsOf))
const platform = { architecture: { x64: 'amd64', arm64: 'arm64' }[process.arch], os: 'linux' }
const config = {
  created,
  ...platform,
  config: {
    User: instructions.USER.at(-1),
    ExposedPorts: Object.fromEntries(
      instructions.EXPOSE.flatMap((text) => text.split(' ')).map((port) => [`${port}/tcp`, {}]),
    ),
    Env: [`PATH=${PATH}`, ...instructions.ENV],
    Entrypoint: JSON.parse(instructions.ENTRYPOINT.at(-1)),
    Cmd: JSON.parse(instructions.CMD.at(-1)),
    WorkingDir: instructions.WORKDIR.at(-1),
    Labels: labels,
    // OCI has no health checks. Docker and Podman read this field of their own.
    Healthcheck: healthCheckOf(instructions.HEALTHCHECK.at(-1)),
  },
  rootfs: { type: 'layers', diff_ids: tars.map((tar) => digestOf(readFileSync(tar))) },
  history: ['Node.js and its libraries', 'manager-edge'].map((comment) => ({
    created,
    created_by: 'npm run package:image',
    comment,
  })),
}

mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
const annotations = { ...labels, 'org.opencontainers.image.created': created }
const image = writeJson(IMAGE_MANIFEST, {
  schemaVersion: 2,
  mediaType: IMAGE_MANIFEST,
  config: writeJson('application/vnd.oci.image.config.v1+json', config),
  layers: tars.map((tar) => writeBlob('application/vnd.oci.image.layer.v1.tar+gzip', readFileSync(`${tar}.gz`))),
  annotations,
})
// The bill of materials as an artifact that refers to the image.
const artifact = writeJson(IMAGE_MANIFEST, {
  schemaVersion: 2,
  mediaType: IMAGE_MANIFEST,
  artifactType: CYCLONEDX,
  config: writeBlob('application/vnd.oci.empty.v1+json', Buffer.from('{}')),
  layers: [writeBlob(CYCLONEDX, readFileSync(sbom))],
  subject: image,
  annotations,
})
const manifests = [
  { ...image, platform, annotations: { 'org.opencontainers.image.ref.name': version } },
  { ...artifact, artifactType: CYCLONEDX },
]
const index = { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests }
writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')

/** Returns the texts of each kind of instruction in the last stage of a Dockerfile without continued lines. */
function instructionsOf(file) {
  const commit = readFileSync(join(process.env.BUILT ?? 'dist', 'commit'), 'utf8').trim()
  const stage = readFileSync(file, 'utf8')
    .split(/^FROM /m)
    .at(-1)
  const found = {}
  for (const [, name, text] of stage.matchAll(/^([A-Z]+) +(.*)$/gm)) {
    found[name] ??= []
    found[name].push(text.replaceAll('$COMMIT', commit))
  }
  return found
}

/** Returns the pairs of `name="value" name=value`. */
function pairsOf(text) {
  return [...text.matchAll(/(\w[\w.-]*)=(?:"([^"]*)"|(\S*))/g)].map(([, name, quoted, plain]) => [
    name,
    quoted ?? plain,
  ])
}

function healthCheckOf(text) {
  const [options, command] = text.split(' CMD ')
  const values = Object.fromEntries(pairsOf(options))
  const duration = (name) => Number.parseInt(values[name], 10) * NANOSECONDS_PER_SECOND
  return {
    Test: ['CMD', ...JSON.parse(command)],
    Interval: duration('interval'),
    Timeout: duration('timeout'),
    StartPeriod: duration('start-period'),
    Retries: Number(values.retries),
  }
}

function digestOf(bytes) {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Returns the path of a blob. */
function pathOf(digest) {
  return join(layout, 'blobs', digest.replace(':', '/'))
}

/** Writes a blob. Returns its descriptor. */
function writeBlob(mediaType, bytes) {
  const digest = digestOf(bytes)
  writeFileSync(pathOf(digest), bytes)
  return { mediaType, digest, size: bytes.length }
}

function writeJson(mediaType, value) {
  return writeBlob(mediaType, Buffer.from(JSON.stringify(value)))
}
