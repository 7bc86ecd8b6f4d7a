// Keys `device` and `training.precision`.
#pragma once

namespace roformer {

enum class DeviceKind { automatic, cpu, cuda };
enum class Precision { automatic, fp32, bf16 };

}  // namespace roformer
