//! Has the linker leave the names of Node's functions open; Node itself has them.

fn main() {
    napi_build::setup();
}
