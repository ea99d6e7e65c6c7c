/**
 * Writes sbom.cdx.json, the contents of a production install as CycloneDX. npm derives it from package-lock.json alone, so
 * it needs no network and matches `npm ci --omit=dev`.
 *
 * npm's own `--omit dev` is not used because it drops production packages that development needs too (`pg`, which the
 * tests' PostgreSQL also uses). Packages that npm marks as development-only are removed instead.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILE = 'sbom.cdx.json';
const OPTIONS = ['--package-lock-only', '--sbom-format', 'cyclonedx', '--sbom-type', 'application'];
const DEVELOPMENT = 'cdx:npm:package:development';
/** Maximum bytes of npm's output. The default limit, 1 MiB, is too small. */
const OUTPUT_BYTES = 64 * 1024 * 1024;

type Component = { 'bom-ref': string; properties?: { name: string; value: string }[] };
type Bom = {
  metadata: { component: object };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
};

const text = execFileSync('npm', ['sbom', ...OPTIONS], {
  cwd: ROOT,
  maxBuffer: OUTPUT_BYTES,
  encoding: 'utf8',
});
const bom = withoutDevelopment(JSON.parse(text) as Bom);
// npm writes the name of the folder.
const { name } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { name: string };
bom.metadata.component = { ...bom.metadata.component, name };
writeFileSync(`${ROOT}${FILE}`, `${JSON.stringify(bom, null, 2)}\n`);
console.log(`${FILE}: ${bom.components.length} packages`);

function withoutDevelopment(bom: Bom): Bom {
  const isDevelopment = ({ properties = [] }: Component): boolean =>
    properties.some(({ name, value }) => name === DEVELOPMENT && value === 'true');
  const left = new Set(bom.components.filter(isDevelopment).map((component) => component['bom-ref']));
  const isKept = (ref: string): boolean => !left.has(ref);
  return {
    ...bom,
    components: bom.components.filter((component) => isKept(component['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isKept) })),
  };
}
