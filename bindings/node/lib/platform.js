'use strict';

/** The platform in the file name of the addon: `linux-x64-gnu`, `darwin-arm64`. */
function platform() {
  const { platform, arch } = process;
  if (platform !== 'linux') return `${platform}-${arch}`;
  const gnu = process.report.getReport().header.glibcVersionRuntime !== undefined;
  return `${platform}-${arch}-${gnu ? 'gnu' : 'musl'}`;
}

module.exports = { platform };
