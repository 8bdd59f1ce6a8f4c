// Prints the components of the base of the image as a list for packaging/sbom.mjs, and copies their licences to the base:
// node packaging/image/base-components.mjs BASE NODE LIBRARY…
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

const [base, node, ...libraries] = process.argv.slice(2)

const components = [
  {
    type: 'platform',
    name: 'node',
    version: process.versions.node,
    licenses: [{ license: { id: 'MIT' } }],
    cpe: `cpe:2.3:a:nodejs:node.js:${process.versions.node}:*:*:*:*:*:*:*`,
    purl: `pkg:generic/node@${process.versions.node}`,
  },
]
copyLicence(join(dirname(node), '../LICENSE'), 'node') || copyLicence('/usr/share/doc/nodejs/copyright', 'node')

for (const name of new Set(libraries.map(packageOf))) {
  const { stdout } = spawnSync('dpkg-query', ['--show', `--showformat=\${Version} \${Architecture}`, name], {
    encoding: 'utf8',
  })
  const [version, architecture] = stdout.split(' ')
  components.push({
    type: 'library',
    name,
    version,
    purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
  })
  copyLicence(`/usr/share/doc/${name}/copyright`, name)
}
console.log(JSON.stringify(components.map((each) => ({ ...each, 'bom-ref': each.purl }))))

/** Returns the Debian package of a library. Exits if there is none, because the bill of materials would lack it. */
function packageOf(library) {
  // The database of dpkg has some paths from before /lib became a link to /usr/lib.
  for (const path of [library, `/usr${library}`]) {
    const { stdout } = spawnSync('dpkg-query', ['--search', path], { encoding: 'utf8' })
    if (stdout) return stdout.split(':')[0]
  }
  console.error(`${library} is in no package of Debian: build the image on Debian`)
  return process.exit(1)
}

function copyLicence(file, name) {
  if (!existsSync(file)) return false
  const folder = join(base, 'usr/share/doc', name)
  mkdirSync(folder, { recursive: true })
  copyFileSync(file, join(folder, 'copyright'))
  return true
}
